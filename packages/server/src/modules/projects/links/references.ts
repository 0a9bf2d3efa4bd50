/** References to variables of linked services in the value of a variable: `${{ postgres.DATABASE_URL }}`. */

const reference = /\$\{\{\s{0,20}([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\.([A-Za-z_][A-Za-z0-9_]{0,255})\s{0,20}\}\}/g

export interface Reference {
  /** Slug of the linked service. */
  slug: string
  name: string
}

export const hasReference = (text: string): boolean => referencesIn(text).length > 0

export const referencesIn = (text: string): Reference[] =>
  [...text.matchAll(reference)].map(([, slug, name]) => ({ slug: slug as string, name: name as string }))

/** Replaces each reference by its value. Values are not searched again. */
export const replaceReferences = (text: string, lookUp: (reference: Reference) => string): string =>
  text.replace(reference, (_, slug: string, name: string) => lookUp({ slug, name }))

const templateVariable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Names of variables in a link variable of a template, such as `postgresql://${POSTGRES_USER}@${HOST}`. */
export const templateVariablesIn = (text: string): string[] =>
  [...text.matchAll(templateVariable)].map(([, name]) => name as string)

/** Fills a link variable of a template. In a URL the values are percent-encoded. */
export function fillTemplate(text: string, lookUp: (name: string) => string): string {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//.test(text)
  return text.replace(templateVariable, (_, name: string) => (isUrl ? encodeURIComponent(lookUp(name)) : lookUp(name)))
}
