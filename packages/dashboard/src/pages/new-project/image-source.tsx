import { Anchor, Button, Group, Text, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { submitting } from '../../components/submitting.ts'
import type { ChooserProps } from './chooser.ts'

/** Deploys an image of a registry, without a build. */
export function ImageSource({ onChosen }: ChooserProps) {
  const [image, setImage] = useState('')
  const choose = () =>
    onChosen({
      fields: { image: image.trim() },
      name: nameOfImage(image.trim()),
      text: `The image ${image.trim()}`,
      detection: null,
    })
  return (
    <form onSubmit={submitting(() => choose())}>
      <Group align="flex-end" gap="sm">
        <TextInput
          flex="1 1 16rem"
          label="Image"
          description="Name and tag. Each deployment pulls the tag again."
          placeholder="nginx:1.27"
          classNames={{ input: 'mono' }}
          required
          maxLength={300}
          value={image}
          onChange={(event) => setImage(event.currentTarget.value)}
        />
        <Button type="submit">Use it</Button>
      </Group>
      <Text size="sm" c="dimmed" mt="sm">
        A private image needs a login for its registry in the{' '}
        <Anchor component={Link} to="/organization/settings">
          organisation's settings
        </Anchor>
        .
      </Text>
    </form>
  )
}

/** The project name for an image: `ghcr.io/acme/shop:1` becomes `shop`. */
const nameOfImage = (image: string) => image.replace(/@.*$/, '').split('/').at(-1)?.replace(/:.*$/, '') || 'project'
