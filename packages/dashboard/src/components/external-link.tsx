import { IconExternalLink } from '@tabler/icons-react'
import classes from './external-link.module.css'

/** Opens beside this page; the scheme is left out of what is shown. */
export function ExternalLink({ url, children }: { url: string; children?: string }) {
  if (!/^https?:\/\//.test(url)) return <span className="wrap-anywhere">{children ?? url}</span>
  return (
    <a href={url} target="_blank" rel="noreferrer" className={classes.link}>
      <span className="wrap-anywhere">{children ?? url.replace(/^https?:\/\//, '').replace(/\/$/, '')}</span>
      <IconExternalLink size={14} aria-hidden />
    </a>
  )
}
