import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { exampleFolder } from '../../upload/example-folder.ts'
import { sendFolder } from '../../upload/send-folder.ts'
import type { ChooserProps } from './chooser.ts'

/** Uploads a built-in example site. */
export function ExampleSource({ onChosen, onError }: ChooserProps) {
  const [isBusy, setBusy] = useState(false)
  const upload = async () => {
    setBusy(true)
    try {
      const { sessionId, detection } = await sendFolder(exampleFolder(), () => {})
      onChosen({
        fields: { gitProvider: 'upload', uploadSessionId: sessionId },
        name: 'hello',
        text: 'A small example site',
        detection,
      })
    } catch (error) {
      onError(error)
      setBusy(false)
    }
  }
  return (
    <>
      <Text size="sm" mb="md">
        An example site of two files, uploaded from your browser. It is live in seconds.
      </Text>
      <Button onClick={() => void upload()} loading={isBusy}>
        Use the example
      </Button>
    </>
  )
}
