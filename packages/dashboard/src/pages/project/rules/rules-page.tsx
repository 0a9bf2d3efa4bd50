import { contract } from '@berth/contract'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { AddRule } from './add-rule.tsx'
import { RuleTable } from './rule-table.tsx'

/** Access rules and rate limits at the edge. */
export function RulesPage() {
  const id = useProjectId()
  const rules = useRead(contract.projects.listRules, { params: { id }, query: {} }, { refetchIntervalMs: 5000 })
  return (
    <ProjectPage
      title="Rules"
      description="Rules take effect within a second. Use a dry run to count matching requests without blocking them."
    >
      {() => (
        <>
          <Section isFlush>
            <Loaded query={rules}>{(rows) => <RuleTable projectId={id} rules={rows} />}</Loaded>
          </Section>
          <AddRule projectId={id} isFirst={rules.data?.length === 0} />
        </>
      )}
    </ProjectPage>
  )
}
