export const sessionSeconds = 30 * 24 * 60 * 60
const deviceSeconds = 365 * 24 * 60 * 60

/**
 * A cookie of the dashboard: scripts cannot read it, other sites' forms do not carry it. On https its name begins with `__Host-`,
 * so that another host of the same domain (such as a project's) cannot set it; a cookie without the prefix is ignored there.
 */
function cookie(name: string, seconds: number) {
  const nameFor = (secure: boolean) => (secure ? `__Host-${name}` : name)
  const attributes = (secure: boolean) => `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    read(header: string | undefined, secure: boolean): string | null {
      for (const part of header?.split(';') ?? []) {
        const equalsIndex = part.indexOf('=')
        if (equalsIndex > 0 && part.slice(0, equalsIndex).trim() === nameFor(secure))
          return part.slice(equalsIndex + 1).trim() || null
      }
      return null
    },
    set: (value: string, secure: boolean) => `${nameFor(secure)}=${value}; Max-Age=${seconds}; ${attributes(secure)}`,
    clear: (secure: boolean) => `${nameFor(secure)}=; Max-Age=0; ${attributes(secure)}`,
  }
}

export const sessionCookie = cookie('berth_session', sessionSeconds)

/** Outlives the session: it only shows that this browser has signed in as this user before. */
export const deviceCookie = cookie('berth_device', deviceSeconds)
