const titles = [
  'Fix the flaky login test',
  'Say which field is wrong in the sign-up form',
  'Speed up the search page',
  'Drop the unused feature flag',
  'Upgrade the date library',
  'Page through the audit log',
  'Retry the webhook when it times out',
  'Show prices in the customer’s currency',
  'Make the menu usable by keyboard',
  'Log who changed a role',
  'Cache the avatar images',
  'Split the billing module',
  'Warn before a plan expires',
  'Sort the team list by name',
  'Keep filters in the address',
  'Remove the old export endpoint',
  'Translate the error pages',
  'Test the import with 10,000 rows',
  'Hide archived projects',
  'Explain rate limits in the docs',
]

/** Payloads as a tracker might give them; each takes the demonstration's agent one to three seconds. */
export const issues = titles.map((title, n) => ({ issue: `ENG-${101 + n}`, title, seconds: 1 + (n % 5) / 2 }))
