import { PasswordInput, SimpleGrid, Textarea, TextInput } from '@mantine/core'
import type { FormField } from '../rules/form-field.ts'

interface Props {
  fields: readonly FormField[]
  values: Readonly<Record<string, string>>
  onChange(values: Record<string, string>): void
  /** The field that the server rejected, and why. */
  fieldError?: { field: string | undefined; message: string } | undefined
}

/** Text inputs for a list of field descriptions. */
export function NamedFields({ fields, values, onChange, fieldError }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {fields.map(({ name, label, isSecret, isOptional, isLong, isWide, description, placeholder }) => {
        const common = {
          label,
          description,
          placeholder,
          ...(isLong || isWide ? { style: { gridColumn: '1 / -1' } } : {}),
          required: !isOptional,
          value: values[name] ?? '',
          autoComplete: 'off',
          error: fieldError?.field === name || fieldError?.field === `config.${name}` ? fieldError.message : undefined,
          onChange: (event: { currentTarget: { value: string } }) => onChange({ ...values, [name]: event.currentTarget.value }),
        }
        if (isLong)
          return (
            <Textarea key={name} {...common} autosize minRows={2} maxRows={6} classNames={{ input: 'mono' }} spellCheck={false} />
          )
        return isSecret ? <PasswordInput key={name} {...common} /> : <TextInput key={name} {...common} />
      })}
    </SimpleGrid>
  )
}
