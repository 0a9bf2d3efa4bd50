import {
  IconArchive,
  IconBell,
  IconBox,
  IconBrandGit,
  IconClock,
  IconCloud,
  IconCpu,
  IconGitBranch,
  IconHistory,
  IconHome,
  IconKey,
  IconListDetails,
  IconMail,
  IconRocket,
  IconServer,
  IconSettings,
  IconShield,
  IconStack2,
  IconTerminal2,
  IconUser,
  IconUsers,
  IconVariable,
  IconWorld,
} from '@tabler/icons-react'
import type { NavigationEntry } from './navigation-link.tsx'

export const organisationLinks: readonly { title: string; links: readonly NavigationEntry[] }[] = [
  {
    title: 'Workspace',
    links: [
      { to: '/', label: 'Projects', icon: IconBox, isExact: true },
      { to: '/deployments', label: 'Deployments', icon: IconRocket },
      { to: '/backups', label: 'Backups', icon: IconArchive },
      { to: '/notifications', label: 'Notifications', icon: IconBell },
    ],
  },
  {
    title: 'Connections',
    links: [
      { to: '/git', label: 'Git host', icon: IconBrandGit },
      { to: '/servers', label: 'Servers', icon: IconServer },
      { to: '/cloud', label: 'Cloud', icon: IconCloud },
    ],
  },
  {
    title: 'Organisation',
    links: [
      { to: '/organization/members', label: 'Members', icon: IconUsers },
      { to: '/organization/invitations', label: 'Invitations', icon: IconMail },
      { to: '/organization/tokens', label: 'Access tokens', icon: IconKey },
      { to: '/organization/audit', label: 'Audit log', icon: IconHistory },
      { to: '/organization/settings', label: 'Settings', icon: IconSettings },
      { to: '/account', label: 'Your account', icon: IconUser },
    ],
  },
]

/** The pages of one project. */
export const projectLinks = (id: string): readonly NavigationEntry[] => [
  { to: `/projects/${id}`, label: 'Overview', icon: IconHome, isExact: true },
  { to: `/projects/${id}/deployments`, label: 'Deployments', keywords: 'rollback versions history', icon: IconRocket },
  { to: `/projects/${id}/logs`, label: 'Logs', keywords: 'output console', icon: IconTerminal2 },
  { to: `/projects/${id}/requests`, label: 'Requests', keywords: 'http traffic access', icon: IconListDetails },
  { to: `/projects/${id}/env`, label: 'Variables', keywords: 'env environment secrets', icon: IconVariable },
  { to: `/projects/${id}/domains`, label: 'Domains', keywords: 'dns https certificate', icon: IconWorld },
  { to: `/projects/${id}/rules`, label: 'Rules', keywords: 'rate limit ban firewall', icon: IconShield },
  { to: `/projects/${id}/git`, label: 'Git', keywords: 'repository branch webhook', icon: IconGitBranch },
  { to: `/projects/${id}/resources`, label: 'Resources', keywords: 'cpu memory disk sleep', icon: IconCpu },
  { to: `/projects/${id}/backups`, label: 'Backups', keywords: 'restore', icon: IconArchive },
  { to: `/projects/${id}/tasks`, label: 'Scheduled tasks', keywords: 'cron jobs schedule', icon: IconClock },
  { to: `/projects/${id}/environments`, label: 'Environments', keywords: 'preview staging', icon: IconStack2 },
  { to: `/projects/${id}/settings`, label: 'Settings', keywords: 'build health volumes delete', icon: IconSettings },
]
