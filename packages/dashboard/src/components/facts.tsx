import type { ReactNode } from 'react'
import classes from './facts.module.css'

/** One that is wide takes two places where there is room. */
export type Fact = readonly [name: string, value: ReactNode, size?: 'wide']

/** Names and what they are, side by side; a fact that is not there is left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className={classes.facts}>
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value, size]) => (
          <div key={name} data-wide={size === 'wide' || undefined}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
