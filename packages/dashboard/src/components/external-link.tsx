import classes from './external-link.module.css'

/** Opens beside this page; the scheme is left out of what is shown. */
export function ExternalLink({ url, children }: { url: string; children?: string }) {
  if (!/^https?:\/\//.test(url)) return <span className="wrap-anywhere">{children ?? url}</span>
  return (
    <a href={url} target="_blank" rel="noreferrer" className={classes.link}>
      <span className="wrap-anywhere">{children ?? url.replace(/^https?:\/\//, '').replace(/\/$/, '')}</span>
      {/* The icon as one path, dressed by the style: there is one in each of a thousand cards. */}
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M12 6h-6a2 2 0 0 0 -2 2v10a2 2 0 0 0 2 2h10a2 2 0 0 0 2 -2v-6M11 13l9 -9M15 4h5v5" />
      </svg>
    </a>
  )
}
