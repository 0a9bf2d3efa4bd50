interface LocalValues {
  url: string
  edgeUrl: string
  folders: Readonly<Record<string, string>>
}

/** Normalises output so that it is the same on every machine: the usual ports, one id, one time, no local path. */
export function neutral({ url, edgeUrl, folders }: LocalValues): (output: string) => string {
  const [port, edgePort] = [url, edgeUrl].map((one) => new URL(one).port) as [string, string]
  return (output) => {
    let text = output
    for (const [folder, name] of Object.entries(folders)) text = text.replaceAll(folder, name)
    return text
      .replaceAll(`:${edgePort}`, ':4080')
      .replaceAll(`:${port}`, ':4000')
      .replace(/code=[\w-]+/g, 'code=5up…')
      .replace(/berth-verify=[\w-]+/g, 'berth-verify=…')
      .replace(/brt_[\w-]+/g, 'brt_…')
      .replace(/\b([a-z]{3})_[a-z2-7]{20}\b/g, '$1_…')
      .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z)?/g, (time) =>
        time.endsWith('Z') ? '2026-01-31T08:00:00.000Z' : '2026-01-31 08:00',
      )
      .replace(/^\d\d:\d\d:\d\d /gm, '08:00:00 ')
      .replace(/listening on \d+/g, 'listening on 40123')
      .replace(/ after [\d.]+ s$/gm, ' after 2.1 s')
      .replace(/ +$/gm, '')
  }
}
