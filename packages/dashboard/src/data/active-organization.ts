const name = 'berth.organization'

/** The organisation that a person has switched to; without one the server takes their own. */
export const activeOrganization = {
  get: (): string | null => window.localStorage.getItem(name),
  set(id: string | null) {
    if (id) window.localStorage.setItem(name, id)
    else window.localStorage.removeItem(name)
  },
}
