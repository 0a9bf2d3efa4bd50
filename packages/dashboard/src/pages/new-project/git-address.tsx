import { Button, Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { submitting } from '../../components/submitting.ts'
import { nameOfAddress } from '../../rules/git-address.ts'
import type { ChooserProps } from './chooser.ts'

/** Any repository that git can clone. */
export function GitAddress({ onChosen }: Pick<ChooserProps, 'onChosen'>) {
  const [url, setUrl] = useState('')
  const [branch, setBranch] = useState('')
  const choose = () =>
    onChosen({
      fields: { gitProvider: 'git', gitUrl: url, ...(branch ? { gitBranch: branch } : {}) },
      name: nameOfAddress(url),
      text: branch ? `${url}, branch ${branch}` : url,
      detection: null,
    })
  return (
    <form onSubmit={submitting(() => choose())}>
      <Group align="flex-end" gap="sm">
        <TextInput
          flex="3 1 14rem"
          label="Repository URL"
          placeholder="https://example.com/shop.git"
          required
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <TextInput
          flex="1 1 8rem"
          label="Branch"
          placeholder="default branch"
          value={branch}
          onChange={(event) => setBranch(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          Use it
        </Button>
      </Group>
    </form>
  )
}
