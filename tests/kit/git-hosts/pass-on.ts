import type { Answer, Call } from './web-app.ts'

/** Forwards a call to the emulator unchanged. */
export async function passOn(call: Call, base: string): Promise<Answer> {
  const { host: _, connection: __, 'content-length': ___, ...headers } = call.headers
  const search = call.query.size > 0 ? `?${call.query}` : ''
  const response = await fetch(`${base}${call.path}${search}`, {
    method: call.method,
    headers: headers as Record<string, string>,
    redirect: 'manual',
    ...(call.method === 'GET' ? {} : { body: new Uint8Array(call.body) }),
  })
  const kept = ['link', 'location', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const passed = Object.fromEntries(
    kept.flatMap((name) => (response.headers.has(name) ? [[name, response.headers.get(name)!]] : [])),
  )
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, headers: passed, ...(isJson && text ? { json: JSON.parse(text) } : { text }) }
}
