package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// host is the prefix of links in operations, whatever the API's address.
const host = "https://www.googleapis.com/compute/v1/"

// deleting filters operations that delete an instance. Only a whole link matches.
func (c *call) deleting(zone, name string) string {
	var links []string
	for _, base := range slices.Compact([]string{host, c.client.compute.BasePath}) {
		links = append(links, fmt.Sprintf("targetLink=%q", base+"projects/"+c.project+"/zones/"+zone+"/instances/"+name))
	}
	return `operationType="delete" AND (` + strings.Join(links, " OR ") + ")"
}

// operations are those of all zones that match a filter.
func (c *call) operations(ctx context.Context, filter string) (all []*compute.Operation, err error) {
	err = c.client.compute.GlobalOperations.AggregatedList(c.project).Filter(filter).Pages(ctx, func(page *compute.OperationAggregatedList) error {
		for _, of := range page.Items {
			all = append(all, of.Operations...)
		}
		return completeOperations(page)
	})
	return all, c.observe(ctx, err, "list operations of project %s", c.project)
}

// lastInsert is the last operation that created an instance for ref; nil: none is known. It is found by the
// name of the instance, and recognized by the request ID: in every zone, since fallbacks have zones that the
// spec does not name, and a spec may have another zone by now. Names are a regular expression, which must be
// the only part of a filter.
func (c *call) lastInsert(ctx context.Context, ref provider.Ref) (last *compute.Operation, err error) {
	if ref.UID == "" || !nameForm.MatchString(ref.Name) {
		return nil, nil
	}
	all, err := c.operations(ctx, fmt.Sprintf(`targetLink eq ".*/instances/(%s|%s)"`, ref.Name, c.alternativeName(ref)))
	if err != nil {
		return nil, err
	}
	for _, op := range all {
		ours := op.OperationType == "insert" && c.begins(ref, op.ClientOperationId)
		if ours && (last == nil || readTime(op.InsertTime).After(readTime(last.InsertTime))) {
			last = op
		}
	}
	return last, nil
}

const done = "DONE"

// pendingInstance is the instance that an operation creates, or should have created; ok is false if it did, and
// the instance does not exist any more.
func (s *scope) pendingInstance(ref provider.Ref, op *compute.Operation) (i provider.Instance, ok bool) {
	zone, name := tail(op.Zone), tail(op.TargetLink)
	i = provider.Instance{
		ID: formatID(op.TargetId), UID: ref.UID, Name: ref.Name, Owner: s.class.Owner, Namespace: ref.Namespace,
		ProviderID: s.providerID(zone, name), NodeName: name, State: provider.Pending, RawState: op.Status,
		Region: regionOf(zone), Zone: zone, Type: typeLacking(op), Interruptible: s.plan.spot(), Created: readTime(op.InsertTime),
	}
	for _, p := range s.plan.places(s.project) {
		if s.requestID(ref, p) == op.ClientOperationId {
			i.Type = p.machineType
		}
	}
	if op.Status != done {
		return i, true
	}
	i.Fault = fault(op)
	i.State, i.RawState = provider.Terminated, "FAILED"
	return i, i.Fault != nil
}

// leaving reports whether an operation that deletes an instance is in progress.
func (c *call) leaving(ctx context.Context, i *compute.Instance) (bool, error) {
	zone, under := tail(i.Zone), false
	err := c.client.compute.ZoneOperations.List(c.project, zone).Filter(c.deleting(zone, i.Name)).Pages(ctx, func(page *compute.OperationList) error {
		under = under || slices.ContainsFunc(page.Items, func(op *compute.Operation) bool {
			return op.Status != done && (op.TargetId == 0 || op.TargetId == i.Id)
		})
		return nil
	})
	return under, c.observe(ctx, err, "list operations in zone %s", zone)
}
