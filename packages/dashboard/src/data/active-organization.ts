const name = 'berth.organization'

/** The organisation that the user switched to. If it is null, the server uses the user's own. */
export const activeOrganization = {
  get: (): string | null => window.localStorage.getItem(name),
  set(id: string | null) {
    if (id) window.localStorage.setItem(name, id)
    else window.localStorage.removeItem(name)
  },
}
