package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// host is what links in operations begin with, wherever the API is asked.
const host = "https://www.googleapis.com/compute/v1/"

// about filters operations by their type and by the instances, with their zones, that they are about. A link matches as a
// whole only.
func (c *caller) about(operationType string, instances ...string) string {
	var links []string
	for _, at := range instances {
		zone, name, _ := strings.Cut(at, "/")
		path := "projects/" + c.project + "/zones/" + zone + "/instances/" + name
		for _, base := range slices.Compact([]string{host, c.client.compute.BasePath}) {
			links = append(links, fmt.Sprintf("targetLink=%q", base+path))
		}
	}
	filter := fmt.Sprintf("operationType=%q", operationType)
	if len(links) > 0 {
		filter += " AND (" + strings.Join(links, " OR ") + ")"
	}
	return filter
}

// operations are those that a filter lets through, of a zone, or of all zones where that is empty.
func (c *caller) operations(ctx context.Context, zone, filter string) (all []*compute.Operation, err error) {
	if zone != "" {
		err = c.client.compute.ZoneOperations.List(c.project, zone).Filter(filter).Pages(ctx, func(page *compute.OperationList) error {
			all = append(all, page.Items...)
			return nil
		})
		return all, c.observed(ctx, err, "list operations in zone %s", zone)
	}
	err = c.client.compute.GlobalOperations.AggregatedList(c.project).Filter(filter).Pages(ctx, func(page *compute.OperationAggregatedList) error {
		for scope, of := range page.Items {
			if w := of.Warning; w != nil && w.Code != nothingHere {
				return provider.Errorf(provider.Transient, "the listing lacks %s: %s: %s", scope, w.Code, w.Message)
			}
			all = append(all, of.Operations...)
		}
		return nil
	})
	return all, c.observed(ctx, err, "list operations of project %s", c.project)
}

// begun is the last operation that was to make an instance for ref, and which of its requests it is of; nil: there was
// none, as far as is known. It is found by the name of the instance, and known by the ID of the request.
func (c *caller) begun(ctx context.Context, ref provider.Ref) (last *compute.Operation, attempt int, err error) {
	if ref.UID == "" {
		return nil, -1, nil
	}
	var at []string
	for _, zone := range c.template.zones() {
		at = append(at, zone+"/"+ref.Name, zone+"/"+c.spare(ref))
	}
	zone, filter := "", c.about("insert", at...)
	if zones := c.template.zones(); len(zones) == 1 {
		zone = zones[0]
	}
	if c.bare { // what it is called where is not known: what is under way is not much
		filter += ` AND status!="DONE"`
	}
	all, err := c.operations(ctx, zone, filter)
	if noZone(err) {
		return nil, -1, nil // where there is no zone nothing was begun
	}
	if err != nil {
		return nil, -1, err
	}
	requests := map[string]int{}
	for n := range mostRequests {
		requests[c.requestID(ref, n)] = n
	}
	attempt = -1
	for _, op := range all {
		n, ours := requests[op.ClientOperationId]
		if ours && op.ClientOperationId != "" && (last == nil || readTime(op.InsertTime).After(readTime(last.InsertTime))) {
			last, attempt = op, n
		}
	}
	return last, attempt, nil
}

const done = "DONE"

// foretold is the instance that an operation is to make, or was to make; ok is false where it did, and the instance is gone.
func (s *scope) foretold(ref provider.Ref, op *compute.Operation, attempt int) (i provider.Instance, ok bool) {
	zone, name := tail(op.Zone), tail(op.TargetLink)
	i = provider.Instance{
		ID: formatID(op.TargetId), UID: ref.UID, Name: ref.Name, Owner: s.class.Owner, Namespace: ref.Namespace,
		ProviderID: s.providerID(zone, name), NodeName: name, State: provider.Pending, RawState: op.Status,
		Region: regionOf(zone), Zone: zone, Interruptible: s.template.spot(), Created: readTime(op.InsertTime),
	}
	if places := s.template.places(s.project); attempt >= 0 && attempt < len(places) && places[attempt].zone == zone {
		i.Type = places[attempt].machineType
	}
	if op.Status != done {
		return i, true
	}
	i.Fault = fault(op)
	i.State, i.RawState = provider.Terminated, "FAILED"
	return i, i.Fault != nil
}

// leaving reports whether an operation is under way that deletes an instance.
func (c *caller) leaving(ctx context.Context, i *compute.Instance) (bool, error) {
	zone := tail(i.Zone)
	all, err := c.operations(ctx, zone, c.about("delete", zone+"/"+i.Name))
	return slices.ContainsFunc(all, func(op *compute.Operation) bool {
		return op.Status != done && (op.TargetId == 0 || op.TargetId == i.Id)
	}), err
}
