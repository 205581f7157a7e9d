// A plugin for Headlamp: the machines of machine.openshift.io and machine.sapcloud.io. It only reads.

import { registerRoute, registerSidebarEntry } from '@kinvolk/headlamp-plugin/lib';
import { gardener, openshift } from './facts';
import { Fleet } from './fleet';
import { MachinePage } from './machine';

const list = '/millwright/machines';

registerSidebarEntry({ parent: null, name: 'millwright', label: 'Machines', url: list, icon: 'mdi:desktop-classic' });
registerRoute({ path: list, sidebar: 'millwright', name: 'millwright-machines', exact: true, component: () => <Fleet /> });
for (const api of [openshift, gardener] as const) {
  registerRoute({ path: `${list}/${api}/:namespace/:name`, sidebar: 'millwright', name: api, exact: true, component: () => <MachinePage api={api} /> });
}
