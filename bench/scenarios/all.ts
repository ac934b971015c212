import type { Scenario } from '../scenario'
import { fleet } from './fleet'
import { growth } from './growth'
import { http } from './http'
import { pinnedHorizon } from './pinned-horizon'
import { rivals } from './rivals'
import { scheduledRows } from './scheduled-rows'
import { throughput } from './throughput'

export const scenarios: readonly Scenario[] = [
  ...throughput,
  growth,
  pinnedHorizon,
  rivals,
  scheduledRows,
  http,
  ...fleet,
]
