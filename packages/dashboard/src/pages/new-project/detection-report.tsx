import { Alert, Code, Text } from '@mantine/core'
import { Facts } from '../../components/facts.tsx'
import type { Detection } from '../../upload/send-folder.ts'

/** The detected settings, and the files they were detected from. */
export function DetectionReport({ detection }: { detection: Detection }) {
  const {
    framework,
    language,
    packageManager,
    installCommand,
    buildCommand,
    startCommand,
    outputDirectory,
    type,
    evidence,
    warnings,
  } = detection
  const command = (text: string | null) => text && <Code>{text}</Code>
  return (
    <>
      <Text size="sm" fw={600} mt="md" mb="xs">
        Detected settings
      </Text>
      <Facts
        facts={[
          ['Type', type],
          ['Framework', framework],
          ['Language', language],
          ['Package manager', packageManager],
          ['Install', command(installCommand)],
          ['Build', command(buildCommand)],
          ['Start', command(startCommand)],
          ['Output', outputDirectory === '.' ? 'top folder' : command(outputDirectory)],
        ]}
      />
      {evidence.length > 0 && (
        <Text size="xs" c="dimmed" mt="sm" component="div">
          Detected from{' '}
          {evidence.map(({ file, says }, at) => (
            <span key={`${file} ${says}`}>
              {at > 0 && ', '}
              <Code>{file}</Code> ({says})
            </span>
          ))}
        </Text>
      )}
      {warnings.length > 0 && (
        <Alert color="yellow" mt="sm" title="Warnings">
          {warnings.map((warning) => (
            <div key={warning}>{warning}</div>
          ))}
        </Alert>
      )}
    </>
  )
}
