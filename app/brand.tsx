/** The project's mark and name. */
export function Brand() {
  return (
    <span className="flex items-center gap-2.5 font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" className="size-6" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <g className="fill-on-accent">
          <rect x="7" y="9" width="18" height="3.5" rx="1.75" opacity=".55" />
          <rect x="7" y="14.5" width="18" height="3.5" rx="1.75" opacity=".8" />
          <rect x="7" y="20" width="11" height="3.5" rx="1.75" />
        </g>
      </svg>
      dispatch-queue
    </span>
  )
}
