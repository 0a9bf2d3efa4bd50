/** A text field of a form that edits an object of the API. */
export interface FormField {
  name: string
  label: string
  isSecret?: true
  isOptional?: true
  isNumber?: true
  isLong?: true
  /** Takes the whole row, for paths. */
  isWide?: true
  description?: string
  placeholder?: string
}
