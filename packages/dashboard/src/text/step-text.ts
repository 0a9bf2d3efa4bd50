/** Names of deployment steps that are not plain enough as the API calls them. */
const names: Record<string, string> = {
  fetch: 'Fetch source',
  health: 'Health check',
  switch: 'Switch route',
  'take over': 'Old containers',
  retire: 'Stop old',
}

export const stepText = (name: string): string => names[name] ?? name.replaceAll('_', ' ')
