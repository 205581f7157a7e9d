// One machine: what is wrong with it, its conditions, its life, and the commands that say more.

import { K8s } from '@kinvolk/headlamp-plugin/lib';
import { DetailsGrid, SectionBox, SimpleTable, StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useEffect, useState } from 'react';
import { useParams } from 'react-router-dom';
import { commandsOf, type Condition, type Event, lifeOf, type Machine, type Moment, recordType, rowOf } from './facts';
import { classes, machineOf } from './resources';

// useEvents are the events of an object, as far as the API server still stores them.
function useEvents(o: any): Event[] {
  const [events, setEvents] = useState<Event[]>([]);
  const uid = o?.metadata?.uid;
  useEffect(() => {
    let ended = false;
    K8s.event.default.objectEvents(o).then(
      (all: any[]) => {
        if (!ended) setEvents(all.map(eventOf));
      },
      () => {} // without the right to read events, the life has none
    );
    return () => {
      ended = true;
    };
  }, [uid, o?.metadata?.resourceVersion]);
  return events;
}

const eventOf = (e: any): Event => ({
  reason: e.reason, message: e.message, by: e.source?.component || e.reportingComponent || '',
  at: e.lastTimestamp || e.eventTime || e.firstTimestamp || e.metadata?.creationTimestamp || '',
});

const life = [
  { label: 'Time', getter: (m: Moment) => m.at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC') },
  { label: 'What', getter: (m: Moment) => m.what },
  { label: 'By', getter: (m: Moment) => m.by },
  { label: 'Message', getter: (m: Moment) => m.message },
];

function Life({ object }: { object: any }) {
  return (
    <SectionBox title="Life">
      <SimpleTable data={lifeOf(machineOf(object), useEvents(object))} columns={life} emptyMessage="Nothing is stored." />
    </SectionBox>
  );
}

const conditions = [
  { label: 'Condition', getter: (c: Condition) => c.type },
  { label: 'Status', getter: (c: Condition) => c.status },
  { label: 'Reason', getter: (c: Condition) => c.reason ?? '' },
  { label: 'Message', getter: (c: Condition) => c.message ?? '' },
];

const Conditions = ({ machine: m }: { machine: Machine }) => (
  <SectionBox title="Conditions">
    <SimpleTable data={(m.status?.conditions ?? []).filter(c => c.type !== recordType)} columns={conditions} emptyMessage="The machine has no conditions." />
  </SectionBox>
);

const Commands = ({ machine: m }: { machine: Machine }) => (
  <SectionBox title="Commands">
    <dl>
      {commandsOf(m).map(c => (
        <div key={c.line}>
          <dt>{c.what}</dt>
          <dd><code>{c.line}</code></dd>
        </div>
      ))}
    </dl>
  </SectionBox>
);

// facts are the first lines of the page.
function facts(m: Machine) {
  const r = rowOf(m);
  return [
    { name: 'Phase', value: <StatusLabel status={r.severity}>{r.phase || 'unknown'}</StatusLabel> },
    { name: 'What is wrong', value: r.wrong, hide: !r.wrong },
    { name: 'Set', value: r.set, hide: !r.set },
    { name: 'Zone', value: r.zone, hide: !r.zone },
    { name: 'Type', value: r.type, hide: !r.type },
    { name: 'Node', value: r.node, hide: !r.node },
    { name: 'Provider ID', value: m.spec?.providerID, hide: !m.spec?.providerID },
  ];
}

export function MachinePage({ api }: { api: keyof typeof classes }) {
  const { namespace, name } = useParams<{ namespace: string; name: string }>();
  return (
    <DetailsGrid
      resourceType={classes[api] as any}
      name={name}
      namespace={namespace}
      noDefaultActions
      extraInfo={(o: any) => o && facts(machineOf(o))}
      extraSections={(o: any) => o && [
        { id: 'life', section: <Life object={o} /> },
        { id: 'conditions', section: <Conditions machine={machineOf(o)} /> },
        { id: 'commands', section: <Commands machine={machineOf(o)} /> },
      ]}
    />
  );
}
