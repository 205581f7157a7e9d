package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	cfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
	nfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
	gfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph/fake"
)

// call is an authorized request.
type call struct {
	*Cloud
	target
	account Account
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	// after is the operation that continues after the answer; nil if no operation does.
	after *operation
}

// doer is a fake server of the SDK.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

func (c *call) serve() {
	if e := c.place(); e != nil {
		e.write(c.w)
		return
	}
	switch c.kind {
	case "resourceGroups":
		c.resourceGroup()
		return
	case "operations":
		c.operation()
		return
	case "agreements":
		catalogCalls{c}.agreement()
		return
	}
	api, fake := c.route()
	if fake == nil {
		refuse(http.StatusNotFound, "InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s' for this simulator.", c.kind, c.provider).write(c.w)
		return
	}
	c.pass(api, fake)
}

// judge returns the validation of the request.
func (c *call) judge() judge { return judge{c} }

// publicAddresses has the calls about public addresses.
func (c *call) publicAddresses() addressCalls { return addressCalls{c} }

// place refuses missing resource groups.
func (c *call) place() *apiError {
	if c.group == "" || c.AcceptAny || c.Inventory.group(c.group) {
		return nil
	}
	return refuse(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", c.group)
}

// route returns the fake server for a request, and the SDK's name of the call.
func (c *call) route() (api string, fake doer) {
	put, remove := "BeginCreateOrUpdate", "BeginDelete"
	list := "NewListPager"
	if c.group == "" {
		list = "NewListAllPager"
	}
	switch c.kind {
	case "virtualMachines":
		return c.named("VirtualMachinesClient", put, remove, list), cfake.NewVirtualMachinesServerTransport(machineCalls{c}.server())
	case "disks":
		if list = "NewListByResourceGroupPager"; c.group == "" {
			list = "NewListPager"
		}
		return c.named("DisksClient", put, remove, list), cfake.NewDisksServerTransport(diskCalls{c}.diskServer())
	case "availabilitySets":
		return c.named("AvailabilitySetsClient", "CreateOrUpdate", "Delete", list), cfake.NewAvailabilitySetsServerTransport(diskCalls{c}.setServer())
	case "skus":
		return "ResourceSKUsClient.NewListPager", cfake.NewResourceSKUsServerTransport(catalogCalls{c}.sizeServer())
	case "images":
		return "VirtualMachineImagesClient.Get", cfake.NewVirtualMachineImagesServerTransport(catalogCalls{c}.imageServer())
	case "networkInterfaces":
		return c.named("InterfacesClient", put, remove, list), nfake.NewInterfacesServerTransport(nicCalls{c}.server())
	case "publicIPAddresses":
		return c.named("PublicIPAddressesClient", put, remove, list), nfake.NewPublicIPAddressesServerTransport(addressCalls{c}.server())
	case "subnets":
		return c.named("SubnetsClient", put, remove, list), nfake.NewSubnetsServerTransport(networkCalls{c}.subnetServer())
	case "loadBalancers":
		return c.named("LoadBalancersClient", put, remove, list), nfake.NewLoadBalancersServerTransport(networkCalls{c}.balancerServer())
	case graph:
		return "Client.Resources", gfake.NewServerTransport(graphCalls{c}.server())
	}
	return "", nil
}

// named returns the SDK's name of the call.
func (c *call) named(client, put, remove, list string) string {
	switch {
	case c.action != "":
		name := strings.ToUpper(c.action[:1]) + c.action[1:]
		if c.action != "retrieveBootDiagnosticsData" && c.action != "simulateEviction" {
			name = "Begin" + name
		}
		return client + "." + name
	case c.verb == http.MethodPut:
		return client + "." + put
	case c.verb == http.MethodPatch && strings.EqualFold(c.provider, "Microsoft.Network"):
		return client + ".UpdateTags"
	case c.verb == http.MethodPatch:
		return client + ".BeginUpdate"
	case c.verb == http.MethodDelete:
		return client + "." + remove
	case c.method() == "LIST":
		return client + "." + list
	}
	return client + ".Get"
}

// pass lets a fake server read the request and write the answer. It continues even if the caller cancels the request, as Azure
// does.
func (c *call) pass(api string, fake doer) {
	ctx := context.WithValue(context.WithoutCancel(c.r.Context()), runtime.CtxAPINameKey{}, api)
	resp, err := fake.Do(c.r.WithContext(ctx))
	if err != nil {
		c.refused(err)
		return
	}
	defer resp.Body.Close()
	h := c.w.Header()
	for name, values := range resp.Header {
		if !strings.HasPrefix(name, "Fake-") {
			h[name] = values
		}
	}
	h.Set("x-ms-request-id", fmt.Sprintf("00000000-0000-0000-0000-%012d", c.number()))
	h.Set("x-ms-ratelimit-remaining-subscription-global-reads", "3749")
	c.follow(h)
	c.w.WriteHeader(resp.StatusCode)
	if resp.StatusCode != http.StatusNoContent && (resp.StatusCode != http.StatusAccepted || c.verb == http.MethodPut) {
		_, _ = io.Copy(c.w, resp.Body)
	}
}

// refused writes the error of a fake server.
func (c *call) refused(err error) {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		refusal = refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	refusal.write(c.w)
}

// begun is the answer that begins a long-running operation, or its error.
func begun[T any](status int, result T, err *apiError) (p azfake.PollerResponder[T], e azfake.ErrorResponder) {
	if err != nil {
		return p, failed(err)
	}
	p.SetTerminalResponse(status, result, nil)
	return p, e
}

// done is the answer to a call: its result or its error.
func done[T any](result T, err *apiError) (r azfake.Responder[T], e azfake.ErrorResponder) {
	if err != nil {
		return r, failed(err)
	}
	r.SetResponse(http.StatusOK, result, nil)
	return r, e
}

// paged is one page of a list and the link to the next page.
func paged[T any](c *call, all []T) (page []T, next *string) {
	from, _ := strconv.Atoi(c.r.URL.Query().Get("$skiptoken"))
	from = min(from, len(all))
	to1 := min(from+c.PageSize, len(all))
	if to1 < len(all) {
		link := url.URL{Scheme: "https", Host: c.r.Host, Path: c.r.URL.Path}
		q := c.r.URL.Query()
		q.Set("$skiptoken", strconv.Itoa(to1))
		link.RawQuery = q.Encode()
		next = to.Ptr(link.String())
	}
	return all[from:to1], next
}

func onePage[T any](result T) (p azfake.PagerResponder[T]) {
	p.AddPage(http.StatusOK, result, nil)
	return p
}

// here reports whether a resource belongs to the scope of a listing.
func (c *call) here(t target) bool {
	return strings.EqualFold(t.subscription, c.subscription) && (c.group == "" || strings.EqualFold(t.group, c.group))
}

func (c *call) resourceGroup() {
	if c.verb == http.MethodHead {
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(c.w, http.StatusOK, map[string]any{
		"id": "/subscriptions/" + c.subscription + "/resourceGroups/" + c.group, "name": c.group, "type": "Microsoft.Resources/resourceGroups",
		"location": SampleLocation, "properties": map[string]string{"provisioningState": "Succeeded"},
	})
}
