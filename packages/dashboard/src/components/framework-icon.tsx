import { type FrameworkLook, frameworkLook } from '../rules/framework-look.ts'
import classes from './framework-icon.module.css'

interface Props {
  framework: string | null | undefined
  type: string | null | undefined
  size?: number
}

/** A small drawing of a framework. It is decoration: the framework's name is written beside it. */
export function FrameworkIcon({ framework, type, size = 24 }: Props) {
  const { shape, letters, hue } = frameworkLook(framework, type)
  return (
    <svg
      viewBox="0 0 32 32"
      width={size}
      height={size}
      className={classes.icon}
      style={{ '--hue': hue } as Record<string, unknown>}
      aria-hidden
    >
      <Shape shape={shape} />
      {letters && (
        <text
          x="16"
          y={shape === 'stack' ? 15.5 : 20.5}
          className={classes.letters}
          data-short={letters.length === 1 || undefined}
        >
          {letters}
        </text>
      )}
    </svg>
  )
}

function Shape({ shape }: Pick<FrameworkLook, 'shape'>) {
  if (shape === 'hexagon') return <path d="M16 1.5 28.6 8.75v14.5L16 30.5 3.4 23.25V8.75Z" />
  if (shape === 'circle') return <circle cx="16" cy="16" r="14.5" />
  if (shape === 'diamond') return <path d="M9 3h14l8 10-15 17L1 13Z" />
  if (shape === 'page') return <path d="M7 1.5h13l7 7V27a3.5 3.5 0 0 1-3.5 3.5H8.5A3.5 3.5 0 0 1 5 27V3.5a2 2 0 0 1 2-2Z" />
  if (shape === 'stack') return <path d="M3 3h26v16H3Zm0 18.5h12v8H3Zm14 0h12v8H17Z" />
  return <rect x="1.5" y="1.5" width="29" height="29" rx="7" />
}
