import type { FormField } from './form-field.ts'

/** The form of an existing object: no field is required again, and a secret shows that it is kept. */
export const asOptional = (fields: readonly FormField[]): FormField[] =>
  fields.map((field) => ({
    ...field,
    isOptional: true,
    ...(field.isSecret || field.isLong ? { placeholder: 'unchanged' } : {}),
  }))

/** The fields that were changed; an untouched or emptied field keeps its stored value. */
export const changedFields = (
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): Record<string, string> => Object.fromEntries(Object.entries(now).filter(([name, value]) => value && value !== before[name]))

/** The stored fields as texts. */
export const asTexts = (stored: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(stored).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  )
