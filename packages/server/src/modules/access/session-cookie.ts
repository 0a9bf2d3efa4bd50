const name = 'berth_session'
export const sessionSeconds = 30 * 24 * 60 * 60

/** The dashboard's cookie: scripts cannot read it, other sites' forms do not carry it. */
export const sessionCookie = {
  read(header: string | undefined): string | null {
    for (const part of header?.split(';') ?? []) {
      const at = part.indexOf('=')
      if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim() || null
    }
    return null
  },
  set: (value: string, secure: boolean) => `${name}=${value}; Max-Age=${sessionSeconds}; ${attributes(secure)}`,
  clear: (secure: boolean) => `${name}=; Max-Age=0; ${attributes(secure)}`,
}

const attributes = (secure: boolean) => `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
