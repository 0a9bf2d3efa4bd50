import type { DestinationField } from './destination-form.ts'

/** The form of something that exists: nothing has to be filled in again, and a secret shows that it stays. */
export const asOptional = (fields: readonly DestinationField[]): DestinationField[] =>
  fields.map((field) => ({
    ...field,
    isOptional: true,
    ...(field.isSecret || field.isLong ? { placeholder: 'stays as it is' } : {}),
  }))

/** What was typed over; a field that was left, or emptied, stays as it is stored. */
export const changedFields = (
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): Record<string, string> => Object.fromEntries(Object.entries(now).filter(([name, value]) => value && value !== before[name]))

/** Of what is stored, the fields as texts. */
export const asTexts = (stored: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(stored).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  )
