/** Where root's Postgres keeps what its unprivileged user cannot reach elsewhere: it survives a reboot, as a temporary folder need not. */
export const SYSTEM_DIRECTORY = '/var/lib/dispatch-queue'
