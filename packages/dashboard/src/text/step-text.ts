/** Labels of deployment steps whose API name is not clear enough for users. */
const names: Record<string, string> = {
  fetch: 'Fetch source',
  health: 'Health check',
  switch: 'Switch route',
  'take over': 'Stop old containers',
  retire: 'Stop old version',
}

export const stepText = (name: string): string => names[name] ?? name.replaceAll('_', ' ')
