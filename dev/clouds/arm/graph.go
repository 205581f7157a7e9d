package arm

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	resourcegraph "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
	gfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph/fake"
)

// powerQuery is the only supported query. It returns the power states of the virtual machines in one resource group or in
// all.
var powerQuery = regexp.MustCompile(`^Resources \| where type =~ 'microsoft\.compute/virtualmachines'(?: and resourceGroup =~ '([^']*)')? \| ` +
	`project id, power = tostring\(properties\.extended\.instanceView\.powerState\.code\) \| order by id asc$`)

// graphCalls are the calls of Resource Graph.
type graphCalls struct{ *call }

func (c graphCalls) server() *gfake.Server {
	return &gfake.Server{
		Resources: func(_ context.Context, q resourcegraph.QueryRequest, _ *resourcegraph.ClientResourcesOptions) (azfake.Responder[resourcegraph.ClientResourcesResponse], azfake.ErrorResponder) {
			match := powerQuery.FindStringSubmatch(deref(q.Query))
			if match == nil {
				return done(resourcegraph.ClientResourcesResponse{}, refuse(http.StatusBadRequest, "BadRequest", "Please provide below info when asking for support: this simulator does not support the query: %s", deref(q.Query)))
			}
			return done(resourcegraph.ClientResourcesResponse{QueryResponse: c.powers(q, match[1])}, nil)
		},
	}
}

// powers answers with the machines that the caller may read. Resource Graph omits other machines.
func (c graphCalls) powers(q resourcegraph.QueryRequest, group string) resourcegraph.QueryResponse {
	var rows []any
	then := c.clock.Now().Add(-c.Lag())
	for _, m := range c.vms.AllBehind(c.Lag()) {
		if group != "" && !strings.EqualFold(group, m.group) || !c.sees(q, m.target) {
			continue
		}
		power := ""
		if _, is := m.state(then); is != "" {
			power = "PowerState/" + is
		}
		rows = append(rows, map[string]any{"id": m.id(), "power": power})
	}
	from, most := 0, c.PageSize
	if q.Options != nil {
		from, _ = strconv.Atoi(deref(q.Options.SkipToken))
	}
	from = min(from, len(rows))
	end := min(from+most, len(rows))
	out := resourcegraph.QueryResponse{
		Count: to.Ptr(int64(end - from)), TotalRecords: to.Ptr(int64(len(rows))), Data: rows[from:end], ResultTruncated: to.Ptr(resourcegraph.ResultTruncatedFalse),
	}
	if end < len(rows) {
		out.SkipToken = to.Ptr(strconv.Itoa(end))
	}
	return out
}

func (c graphCalls) sees(q resourcegraph.QueryRequest, t target) bool {
	asked := len(q.Subscriptions) == 0
	for _, s := range q.Subscriptions {
		asked = asked || strings.EqualFold(deref(s), t.subscription)
	}
	if !asked || c.account.stranger {
		return asked
	}
	for _, a := range c.Inventory.Accounts {
		if a.ClientID == c.account.ClientID && strings.EqualFold(a.Subscription, t.subscription) && a.may(t.permission()) {
			return true
		}
	}
	return false
}
