import { ApiError } from '@berth/contract/client'
import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'

interface Field {
  name: string
  label: string
  kind?: 'password' | 'email'
  autoComplete?: string
  description?: string
  initial?: string
}

interface Props {
  fields: readonly Field[]
  submit: string
  pending: boolean
  error: unknown
  onSubmit(values: Record<string, string>): void
}

/** A short form whose refused field says why, in the server's words. */
export function AccessForm({ fields, submit, pending, error, onSubmit }: Props) {
  const form = useForm({ initialValues: Object.fromEntries(fields.map(({ name, initial }) => [name, initial ?? ''])) })
  const refused = error instanceof ApiError ? error.field : undefined
  return (
    <form onSubmit={form.onSubmit(onSubmit)}>
      <Stack>
        {error instanceof Error && !refused && (
          <Alert color="red" role="alert">
            {error.message}
          </Alert>
        )}
        {fields.map(({ name, label, kind, autoComplete, description }) => {
          const Input = kind === 'password' ? PasswordInput : TextInput
          return (
            <Input
              key={name}
              label={label}
              name={name}
              required
              description={description}
              autoComplete={autoComplete}
              type={kind === 'email' ? 'email' : undefined}
              error={refused === name && error instanceof Error ? error.message : undefined}
              {...form.getInputProps(name)}
            />
          )
        })}
        <Button type="submit" loading={pending} fullWidth>
          {submit}
        </Button>
      </Stack>
    </form>
  )
}
