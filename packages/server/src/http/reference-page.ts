import { type AnyRoute, contract, type ErrorCode, statusOf } from '@berth/contract'

/** The readable reference at /api/docs: one page, no script, made from the table. */
export function referencePage(version: string, mode: 'self-hosted' | 'cloud'): string {
  const modules = Object.entries(contract).map(([name, rows]) => ({
    name,
    rows: Object.values(rows as Record<string, AnyRoute>).filter((row) => mode === 'self-hosted' || !row.selfHostedOnly),
  }))
  const listedModules = modules.filter(({ rows }) => rows.length > 0)
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Berth API reference</title><style>${style}</style></head><body>
<nav><b>Berth API</b> <small>${escapeHtml(version)}</small>${listedModules.map(({ name }) => `<a href="#${name}">${name}</a>`).join('')}
<a href="openapi.json">openapi.json</a></nav>
<main><h1>API reference</h1><p>Base path <code>/api</code>. Send a personal access token as <code>Authorization: Bearer brt_…</code>.
Success is <code>{ "data": … }</code>, an error <code>{ "error", "code", "field"? }</code>.</p>
${listedModules.map(({ name, rows }) => `<h2 id="${name}">${name}</h2>${rows.map(section).join('')}`).join('')}
</main></body></html>`
}

function section(row: AnyRoute): string {
  const tags = [
    row.permission ? `<code class="tag">${row.permission}</code>` : '<code class="tag">public</code>',
    row.needs ? `<code class="tag">needs ${row.needs}</code>` : '',
    row.selfHostedOnly ? '<code class="tag">self-hosted only</code>' : '',
    row.stream ? '<code class="tag">event stream</code>' : '',
  ]
  const parts = [
    part('Query', row.query),
    part('Body', row.body),
    row.upload
      ? `<details><summary>Body</summary><pre>${row.upload.contentType}, up to ${row.upload.limitBytes} bytes</pre></details>`
      : '',
    part(`Answer ${row.status ?? 200}`, row.returns),
    part('Events', row.stream),
    row.errors ? `<p class="errors">${row.errors.map(error).join(' ')}</p>` : '',
  ]
  const paths = [row.at, ...(row.alsoAt ?? [])].map((at) => `<h3><code>${escapeHtml(at)}</code></h3>`).join('')
  return `<section>${paths}<p>${escapeHtml(row.summary)} ${tags.join(' ')}</p>${parts.join('')}</section>`
}

const error = (code: ErrorCode) => `<code>${statusOf(code)} ${code}</code>`

const part = (title: string, schema: unknown) =>
  schema ? `<details><summary>${title}</summary><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre></details>` : ''

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const style = `body{margin:0;font:15px/1.5 system-ui,sans-serif;color:#1c2733;display:flex}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem;background:#f3f6f9;min-width:11rem;box-sizing:border-box}
nav a{display:block;color:#14507a;text-decoration:none;padding:.2rem 0}main{padding:1.5rem 2.5rem;max-width:60rem;min-width:0}
section{border-top:1px solid #dde4ea;padding:.6rem 0}h3{margin:.4rem 0;font-size:1rem}code{font-size:.92em}
.tag{background:#e6eef5;border-radius:4px;padding:.1rem .35rem;margin-right:.2rem}.errors code{color:#8a2c2c;margin-right:.6rem}
pre{background:#f7f9fb;padding:.8rem;overflow:auto;font-size:.85rem}summary{cursor:pointer;color:#14507a}
@media(prefers-color-scheme:dark){body{background:#11171d;color:#dbe4ec}nav{background:#161e26}pre{background:#161e26}.tag{background:#21303d}nav a,summary{color:#7cb9e8}section{border-color:#26323d}}`
