import type { RestoreReport } from '@berth/contract'
import { Alert, Text } from '@mantine/core'
import { Section } from '../../../components/section.tsx'
import { changeText } from '../../../text/restore-text.ts'

/** The changes that applying the restore would make, item by item. */
export function RestoreReportView({ report }: { report: RestoreReport }) {
  return (
    <Section title="Changes by this restore">
      {report.changes.map((change) => (
        <Text key={`${change.kind} ${change.name}`} size="sm" className="wrap-anywhere">
          <b>
            {change.kind} {change.name}
          </b>{' '}
          {changeText(change)}
        </Text>
      ))}
      {report.changes.length === 0 && <Text size="sm">No changes: the data is identical.</Text>}
      {report.unchanged && report.unchanged.length > 0 && (
        <Text size="sm" mt="sm" c="dimmed">
          Not restored, and left as they are: {report.unchanged.join(', ')}.
        </Text>
      )}
      {report.warnings.length > 0 && (
        <Alert color="yellow" mt="sm">
          {report.warnings.join(' · ')}
        </Alert>
      )}
    </Section>
  )
}
