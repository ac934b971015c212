/** `npm run bundle`: makes public/dispatch.mjs. */
import { bundleCommand } from '@/lib/launch/bundle'

await bundleCommand()
