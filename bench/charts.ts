import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { BarChart, LineChart } from 'echarts/charts'
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components'
import { type EChartsCoreOption, init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import type { Result } from './report'

use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer])

const themes = {
  light: {
    text: '#1f2937',
    line: '#d1d5db',
    colors: ['#2563eb', '#93c5fd', '#d97706', '#059669', '#a855f7', '#6b7280', '#0d9488'],
  },
  dark: {
    text: '#e5e7eb',
    line: '#4b5563',
    colors: ['#60a5fa', '#1d4ed8', '#fbbf24', '#34d399', '#c084fc', '#9ca3af', '#2dd4bf'],
  },
}
type Theme = (typeof themes)[keyof typeof themes]

const base = ({ text, colors }: Theme, title: string) => ({
  animation: false,
  color: colors,
  textStyle: { color: text, fontFamily: 'system-ui, sans-serif' },
  title: { text: title, textStyle: { color: text, fontSize: 15 } },
  legend: { top: 28, textStyle: { color: text } },
  grid: { left: 60, right: 20, top: 90, bottom: 50 },
})
const axis = ({ text, line }: Theme, name?: string) => ({
  name,
  nameTextStyle: { color: text },
  axisLabel: { color: text, interval: 0, fontSize: 11 },
  axisLine: { lineStyle: { color: line } },
  splitLine: { lineStyle: { color: line } },
})

/** Items per second as multiples of pg-boss, for each scenario that it took part in. */
function throughputChart(results: readonly Result[], theme: Theme): EChartsCoreOption {
  const compared = results.filter(({ unit, figures }) => unit === 'items/s' && figures['pg-boss'] !== undefined)
  const names = [...new Set(compared.flatMap(({ figures }) => Object.keys(figures)))]
  return {
    ...base(theme, 'Throughput, as a multiple of pg-boss'),
    xAxis: { type: 'category', data: compared.map(({ name }) => name), ...axis(theme) },
    yAxis: { type: 'value', ...axis(theme, '× pg-boss') },
    series: names.map((name) => ({
      type: 'bar',
      name,
      data: compared.map(({ figures }) => {
        const own = figures[name]?.median
        return own === undefined ? null : Number((own / (figures['pg-boss']?.median ?? 1)).toFixed(2))
      }),
    })),
  }
}

/** Throughput in each ten seconds while a transaction stays open. */
function pinnedChart({ figures, title }: Result, theme: Theme): EChartsCoreOption {
  const spans = Math.max(...Object.values(figures).map(({ rounds }) => rounds.length))
  return {
    ...base(theme, title),
    xAxis: { type: 'category', data: Array.from({ length: spans }, (_, n) => `${(n + 1) * 10} s`), ...axis(theme) },
    yAxis: { type: 'value', ...axis(theme, 'items/s') },
    series: Object.entries(figures).map(([name, { rounds }]) => ({ type: 'line', name, symbol: 'none', data: rounds })),
  }
}

/** Draws the charts of what was measured, each for light and dark pages. */
export function writeCharts(results: readonly Result[], directory: string): void {
  mkdirSync(directory, { recursive: true })
  const pinned = results.find(({ name }) => name === 'pinned-horizon')
  for (const [themeName, theme] of Object.entries(themes)) {
    const charts = {
      throughput: throughputChart(results, theme),
      ...(pinned && { 'pinned-horizon': pinnedChart(pinned, theme) }),
    }
    for (const [name, option] of Object.entries(charts)) {
      const chart = init(null, null, { renderer: 'svg', ssr: true, width: 900, height: 420 })
      chart.setOption(option)
      writeFileSync(path.join(directory, `${name}-${themeName}.svg`), chart.renderToSVGString())
      chart.dispose()
    }
  }
}
