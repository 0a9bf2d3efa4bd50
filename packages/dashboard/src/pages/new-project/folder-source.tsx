import { plural, sizeText } from '../../text/sizes.ts'
import { FolderDrop } from '../../upload/folder-drop.tsx'
import type { ChooserProps } from './chooser.ts'

export function FolderSource({ onChosen }: ChooserProps) {
  return (
    <FolderDrop
      onSent={({ sessionId, detection, files, sizeBytes }, name) =>
        onChosen({
          fields: { gitProvider: 'upload', uploadSessionId: sessionId },
          name: detection.name ?? name,
          text: `The folder ${name}: ${plural(files, 'file')}, ${sizeText(sizeBytes)} packed`,
          detection,
        })
      }
    />
  )
}
