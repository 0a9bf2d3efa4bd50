import type { Icon } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import classes from './navigation.module.css'

export interface NavigationEntry {
  to: string
  label: string
  icon: Icon
  /** Highlighted only at this exact path, not at the paths below it. */
  isExact?: boolean
  /** More words that find it in the command palette. */
  keywords?: string
}

export function NavigationLink({ to, label, icon: Picture, isExact = false }: NavigationEntry) {
  return (
    <Link to={to} className={classes.link} activeOptions={{ exact: isExact, includeSearch: false }}>
      <Picture size={18} stroke={1.6} aria-hidden />
      {label}
    </Link>
  )
}
