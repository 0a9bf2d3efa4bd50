import { PasswordInput, SimpleGrid, Textarea, TextInput } from '@mantine/core'
import type { DestinationField } from '../rules/destination-form.ts'

interface Props {
  fields: readonly DestinationField[]
  values: Readonly<Record<string, string>>
  onChange(values: Record<string, string>): void
  /** The field that was refused, and why. */
  refused?: { field: string | undefined; message: string } | undefined
}

/** Text fields by their description. */
export function NamedFields({ fields, values, onChange, refused }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {fields.map(({ name, label, isSecret, isOptional, isLong, placeholder }) => {
        const common = {
          label,
          placeholder,
          required: !isOptional,
          value: values[name] ?? '',
          autoComplete: 'off',
          error: refused?.field === name || refused?.field === `config.${name}` ? refused.message : undefined,
          onChange: (event: { currentTarget: { value: string } }) => onChange({ ...values, [name]: event.currentTarget.value }),
        }
        if (isLong)
          return (
            <Textarea
              key={name}
              {...common}
              style={{ gridColumn: '1 / -1' }}
              autosize
              minRows={2}
              maxRows={6}
              classNames={{ input: 'mono' }}
              spellCheck={false}
            />
          )
        return isSecret ? <PasswordInput key={name} {...common} /> : <TextInput key={name} {...common} />
      })}
    </SimpleGrid>
  )
}
