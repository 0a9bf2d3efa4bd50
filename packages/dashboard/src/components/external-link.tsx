import classes from './external-link.module.css'

/** A link that opens in a new tab. Without `children` it shows the URL without its scheme. */
export function ExternalLink({ url, children }: { url: string; children?: string }) {
  if (!/^https?:\/\//.test(url)) return <span className="wrap-anywhere">{children ?? url}</span>
  return (
    <a href={url} target="_blank" rel="noreferrer" className={classes.link}>
      <span className="wrap-anywhere">{children ?? url.replace(/^https?:\/\//, '').replace(/\/$/, '')}</span>
      {/* A single path instead of an icon component: a list may show a thousand of them. */}
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M12 6h-6a2 2 0 0 0 -2 2v10a2 2 0 0 0 2 2h10a2 2 0 0 0 2 -2v-6M11 13l9 -9M15 4h5v5" />
      </svg>
    </a>
  )
}
