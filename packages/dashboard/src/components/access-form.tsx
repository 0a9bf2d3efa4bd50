import { ApiError } from '@berth/contract/client'
import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import type { FormEvent } from 'react'

interface Field {
  name: string
  label: string
  kind?: 'password' | 'email' | 'code'
  autoComplete?: string
  description?: string
  initial?: string
  isOptional?: boolean
}

interface Props {
  fields: readonly Field[]
  submit: string
  pending: boolean
  error: unknown
  onSubmit(values: Record<string, string>): void
}

/** A short form. A rejected field shows the server's message. */
export function AccessForm({ fields, submit, pending, error, onSubmit }: Props) {
  const rejectedField = error instanceof ApiError ? error.field : undefined
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values = new FormData(event.currentTarget)
    onSubmit(Object.fromEntries(fields.map(({ name }) => [name, String(values.get(name) ?? '')])))
  }
  return (
    <form onSubmit={send}>
      <Stack>
        {error instanceof Error && !fields.some(({ name }) => name === rejectedField) && (
          <Alert color="red" role="alert">
            {error.message}
          </Alert>
        )}
        {fields.map(({ name, label, kind, autoComplete, description, initial, isOptional }) => {
          const Input = kind === 'password' ? PasswordInput : TextInput
          return (
            <Input
              key={name}
              label={label}
              name={name}
              required={!isOptional}
              description={description}
              autoComplete={autoComplete}
              defaultValue={initial}
              type={kind === 'email' ? 'email' : undefined}
              autoFocus={kind === 'code'}
              error={rejectedField === name && error instanceof Error ? error.message : undefined}
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
