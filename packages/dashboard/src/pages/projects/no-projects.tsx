import { Text, Title } from '@mantine/core'
import { IconBrandGit, IconFolderUp, IconServer, IconSparkles } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import classes from './no-projects.module.css'

const ways = [
  {
    from: 'folder',
    icon: IconFolderUp,
    title: 'Upload a folder',
    text: 'From your computer. Berth detects how to build it.',
  },
  {
    from: 'repository',
    icon: IconBrandGit,
    title: 'Import a repository',
    text: 'Deploy a branch and every push to it.',
  },
  {
    from: 'example',
    icon: IconSparkles,
    title: 'Try an example',
    text: 'A small site that is live in seconds.',
  },
  {
    from: 'server',
    icon: IconServer,
    title: 'Adopt a server',
    text: 'Adopt services that already run in Docker on your server.',
  },
] as const

/** The sources of a first project. */
export function NoProjects() {
  return (
    <section aria-label="No projects yet">
      <Title order={2} size="h3" ta="center" mt="lg">
        Nothing is hosted here yet
      </Title>
      <Text c="dimmed" ta="center" mb="xl">
        Choose where your first project comes from.
      </Text>
      <div className={classes.ways}>
        {ways.map(({ from, icon: Picture, title, text }) => (
          <Link
            key={from}
            to={from === 'server' ? '/servers' : '/new'}
            search={from === 'server' ? undefined : { from }}
            className={classes.way}
          >
            <Picture size={28} stroke={1.4} aria-hidden />
            <strong>{title}</strong>
            <span>{text}</span>
          </Link>
        ))}
      </div>
    </section>
  )
}
