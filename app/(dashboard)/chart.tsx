'use client'

import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

interface ChartProps {
  /** Start of a bin in seconds since 1970, how many were completed, how many failed. */
  series: [number, number, number][]
  span: 'hour' | 'day'
  at: string
}

const bins = { hour: { seconds: 60, count: 60 }, day: { seconds: 900, count: 96 } }
const HEIGHT = 224

/** Every bin of the span, those without anything finished too; per minute. */
function columnsOf({ series, span, at }: ChartProps): [number[], number[], number[]] {
  const { seconds, count } = bins[span]
  const last = Math.floor(Date.parse(at) / 1_000 / seconds) * seconds
  const starts = Array.from({ length: count }, (_, n) => last - (count - 1 - n) * seconds)
  const found = new Map(series.map(([start, completed, failed]) => [start, { completed, failed }]))
  const perMinute = (amount = 0) => amount / (seconds / 60)
  return [
    starts,
    starts.map((start) => perMinute(found.get(start)?.completed)),
    starts.map((start) => perMinute(found.get(start)?.failed)),
  ]
}

/** Completed and failed work over time. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const columns = columnsOf(props)
  const latest = useRef(columns)
  latest.current = columns

  useEffect(() => {
    const element = place.current
    if (element === null) return
    const theme = getComputedStyle(document.documentElement)
    const colour = (name: string) => theme.getPropertyValue(`--color-${name}`)
    const axis = {
      stroke: colour('muted'),
      grid: { stroke: colour('line'), width: 1 },
      ticks: { stroke: colour('line') },
    }
    const line = (name: string, stroke: string) => ({
      label: name,
      stroke,
      width: 2,
      fill: `${stroke}22`,
      points: { show: false },
    })
    plot.current = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        axes: [axis, { ...axis, size: 48 }],
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max)] } },
        series: [{}, line('completed', colour('claimed')), line('failed', colour('failed'))],
      },
      latest.current,
      element,
    )
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      plot.current?.destroy()
    }
  }, [])

  useEffect(() => {
    plot.current?.setData(columns)
  })

  const sum = (index: 1 | 2) => props.series.reduce((total, bin) => total + bin[index], 0)
  return (
    <figure>
      <div ref={place} aria-hidden="true" />
      <figcaption className="sr-only">{`${sum(1)} completed and ${sum(2)} failed in the last ${props.span}.`}</figcaption>
    </figure>
  )
}
