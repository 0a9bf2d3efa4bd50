import type { ReactNode } from 'react'
import classes from './facts.module.css'

/** A name and its value; a wide fact takes two columns if there is space. */
export type Fact = readonly [name: string, value: ReactNode, size?: 'wide']

/** A list of names and values; facts without a value are not shown. */
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
