/** `npm run bundle`: makes the files that the app serves to machines. */
import { bundle } from '@/lib/launch/bundle'

await bundle()
