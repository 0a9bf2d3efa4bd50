import type { FieldProblem } from '@berth/contract'

/** Reads the fields of a config and collects problems under dotted names. */
export class ConfigFields {
  readonly problems: FieldProblem[] = []
  readonly #values: Record<string, unknown>

  constructor(input: unknown) {
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
    if (!isObject && input !== undefined) this.problems.push({ field: 'config', message: 'must be an object' })
    this.#values = isObject ? { ...input } : {}
  }

  /** Non-empty text, trimmed; anything else is a problem. */
  text(name: string, maxLength: number): string {
    return this.optionalText(name, maxLength) ?? this.refuse(name, 'is required')
  }

  /** An optional field; if present, it must be a non-empty text. */
  optionalText(name: string, maxLength: number): string | undefined {
    const value = this.#values[name]
    if (value === undefined) return undefined
    if (typeof value !== 'string' || value.trim() === '') return this.refuse(name, 'must be a non-empty string')
    if (value.length > maxLength) return this.refuse(name, `must have at most ${maxLength} characters`)
    return value.trim()
  }

  /** Records a problem; only the first one of each field. */
  refuse(name: string, message: string): string {
    const field = `config.${name}`
    if (!this.problems.some((problem) => problem.field === field || problem.field === 'config'))
      this.problems.push({ field, message })
    return ''
  }
}
