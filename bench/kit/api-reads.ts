export const benchAdmin = { BERTH_ADMIN_EMAIL: 'bench@example.test', BERTH_ADMIN_PASSWORD: 'bench password' }

export interface ApiRead {
  name: string
  path: string
  headers: Record<string, string>
}

/** Signs in as the admin, creates the given number of projects, and repeats the reads of the API. */
export async function signedInReads({ url }: { url: string }, projects: number): Promise<ApiRead[]> {
  const json = { 'content-type': 'application/json' }
  const login = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email: benchAdmin.BERTH_ADMIN_EMAIL, password: benchAdmin.BERTH_ADMIN_PASSWORD }),
  })
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] as string
  const made = await fetch(`${url}/api/tokens`, {
    method: 'POST',
    headers: { ...json, cookie, origin: url },
    body: JSON.stringify({ name: 'bench' }),
  })
  const { data } = (await made.json()) as { data: { token: string } }
  const bearer = { authorization: `Bearer ${data.token}` }
  let id = ''
  for (let at = 0; at < projects; at++) {
    const made = await fetch(`${url}/api/projects`, {
      method: 'POST',
      headers: { ...json, ...bearer },
      body: JSON.stringify({
        name: `Project ${at}`,
        gitUrl: `https://git.example.test/acme/project-${at}.git`,
        framework: 'nextjs',
      }),
    })
    if (made.status !== 201) throw new Error(`a project was not created: ${made.status} ${await made.text()}`)
    id = ((await made.json()) as { data: { id: string } }).data.id
  }
  return [
    { name: 'a session (cookie)', path: '/api/auth/session', headers: { cookie } },
    { name: 'a session (token)', path: '/api/auth/session', headers: bearer },
    { name: 'the tokens', path: '/api/tokens', headers: bearer },
    { name: 'a project', path: `/api/projects/${id}`, headers: bearer },
  ]
}
