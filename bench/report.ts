import type { Outcome } from './scenario'

export interface Result extends Outcome {
  name: string
  title: string
  unit: string
}

function section({ name, title, unit, figures, verdicts }: Result): string {
  const rows = Object.entries(figures).map(
    ([what, { median, rounds }]) => `| ${what} | ${median.toLocaleString('en')} | ${rounds.join(' · ')} |`,
  )
  const judged = verdicts.map(
    ({ what, value, target, isMet }) => `- ${isMet ? '✓ met' : '✗ **missed**'}: ${value} ${what} (target ${target})`,
  )
  return [
    `### ${title[0]?.toUpperCase()}${title.slice(1)}`,
    '',
    `\`npm run bench -- --only ${name}\``,
    '',
    `| | ${unit} | rounds |`,
    '| --- | --: | --- |',
    ...rows,
    '',
    ...judged,
    '',
  ].join('\n')
}

/** What was measured, as Markdown: a table for each scenario, and its targets, met or missed. */
export const asMarkdown = (results: readonly Result[]): string => results.map(section).join('\n')
