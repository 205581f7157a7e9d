// The machines of both APIs in one table, the worst first.

import { Link, SectionBox, SimpleTable, StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Utils } from '@kinvolk/headlamp-plugin/lib';
import { useState } from 'react';
import { gardener, matches, openshift, type Row, rowOf, worstFirst } from './facts';
import { GardenerMachine, machineOf, OpenShiftMachine } from './resources';

interface Listed {
  items: { jsonData: unknown }[] | null;
  error: { message?: string; status?: number } | null;
}

const missing = 404;

// Gap says that the machines of one API could not be read. A cluster may lack one of the APIs.
function Gap({ api, error }: { api: string; error: Listed['error'] }) {
  if (!error || error.status === missing) return null;
  return <p role="alert">The machines of {api} could not be read: {error.message || 'the API server gives no reason'}. If you may read them in some namespaces, list these as allowed namespaces in Headlamp&apos;s settings of the cluster.</p>;
}

const columns = [
  { label: 'Name', gridTemplate: '2fr', getter: (r: Row) => <Link routeName={r.api} params={{ namespace: r.namespace, name: r.name }}>{r.name}</Link> },
  { label: 'Namespace', gridTemplate: '2fr', getter: (r: Row) => r.namespace },
  { label: 'Set', gridTemplate: '1.5fr', getter: (r: Row) => r.set },
  { label: 'Phase', gridTemplate: 'min-content', getter: (r: Row) => <StatusLabel status={r.severity}>{r.phase || 'unknown'}</StatusLabel> },
  { label: 'Zone', gridTemplate: '1fr', getter: (r: Row) => r.zone },
  { label: 'Type', gridTemplate: '1fr', getter: (r: Row) => r.type },
  { label: 'Node', gridTemplate: '2fr', getter: (r: Row) => r.node },
  { label: 'Age', gridTemplate: 'min-content', getter: (r: Row) => (r.created ? Utils.timeAgo(r.created) : '') },
  { label: 'What is wrong', gridTemplate: '4fr', getter: (r: Row) => r.wrong },
];

export function Fleet() {
  const ours = OpenShiftMachine.useList() as unknown as Listed, theirs = GardenerMachine.useList() as unknown as Listed;
  const [text, setText] = useState('');
  const all = [...(ours.items ?? []), ...(theirs.items ?? [])].map(o => rowOf(machineOf(o))).sort(worstFirst);
  const shown = all.filter(r => matches(r, text));
  const loading = (!ours.items && !ours.error) || (!theirs.items && !theirs.error);
  const unread = [ours.error, theirs.error].some(e => e && e.status !== missing);
  const wrong = all.filter(r => r.severity !== 'success').length;
  return (
    <SectionBox title="Machines">
      <Gap api={openshift} error={ours.error} />
      <Gap api={gardener} error={theirs.error} />
      <p role="status">{loading ? 'The machines are being read.' : `${wrong} of ${all.length} machines ${unread ? 'that could be read ' : ''}are not in order, ${shown.length} are shown.`}</p>
      <p>
        <label>Search <input value={text} placeholder="zone:eu-1b failed" onChange={e => setText(e.target.value)} /></label>
      </p>
      <SimpleTable data={shown} columns={columns} rowsPerPage={[25, 50, 100]} emptyMessage="No machine matches." />
    </SectionBox>
  );
}
