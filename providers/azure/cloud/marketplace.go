package cloud

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
)

// marketImage reads an image of the Marketplace.
func (cr *creator) marketImage(ctx context.Context, urn string) (*compute.VirtualMachineImage, error) {
	u := strings.Split(urn, ":") // four parts, or the spec was refused
	got, err := cr.compute.NewVirtualMachineImagesClient().Get(ctx, cr.plan.location, u[0], u[1], u[2], u[3], nil)
	if isMissing(err) {
		return nil, provider.InvalidField(cr.plan.fields[fieldImage], "there is no image %s in %s", urn, cr.plan.location)
	}
	if err != nil {
		return nil, cr.observe(err, "read image %s", urn)
	}
	return &got.VirtualMachineImage, nil
}

// purchasePlan is the plan of the image, if it has one. Its terms are accepted, as in the original.
func (cr *creator) purchasePlan(ctx context.Context) (*compute.Plan, error) {
	if cr.plan.urn == "" {
		return nil, nil
	}
	image, err := cr.marketImage(ctx, cr.plan.urn)
	if err != nil || image.Properties == nil || image.Properties.Plan == nil {
		return nil, err
	}
	p := image.Properties.Plan
	return &compute.Plan{Name: p.Name, Product: p.Product, Publisher: p.Publisher}, cr.accept(ctx, p)
}

// agreementVersion is that of the API of terms: https://learn.microsoft.com/rest/api/marketplaceordering
const agreementVersion = "2021-01-01"

// accept reads the terms of a plan and accepts them if that has not happened. They are sent back unchanged,
// signature included.
func (cr *creator) accept(ctx context.Context, p *compute.PurchasePlan) error {
	path := "/subscriptions/" + cr.subscription + "/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/" + url.PathEscape(deref(p.Publisher)) +
		"/offers/" + url.PathEscape(deref(p.Product)) + "/plans/" + url.PathEscape(deref(p.Name)) + "/agreements/current"
	var terms map[string]any
	err := cr.request(ctx, http.MethodGet, path, nil, &terms)
	if isMissing(err) {
		return provider.InvalidField(cr.plan.fields[fieldImage], "there are no terms for plan %s of %s: accept them once, or set skipMarketplaceAgreement", deref(p.Name), deref(p.Product))
	}
	if err != nil {
		return cr.observe(err, "read the terms of plan %s", deref(p.Name))
	}
	properties, _ := terms["properties"].(map[string]any)
	if accepted, _ := properties["accepted"].(bool); accepted || properties == nil {
		return nil
	}
	properties["accepted"] = true
	return cr.observe(cr.request(ctx, http.MethodPut, path, terms, &terms), "accept the terms of plan %s", deref(p.Name))
}

// request makes a call for which a client of the SDK is not worthwhile.
func (cr *creator) request(ctx context.Context, method, path string, body, into any) error {
	req, err := runtime.NewRequest(ctx, method, runtime.JoinPaths(cr.manager.Endpoint(), path))
	if err != nil {
		return err
	}
	q := req.Raw().URL.Query()
	q.Set("api-version", agreementVersion)
	req.Raw().URL.RawQuery = q.Encode()
	if body != nil {
		if err := runtime.MarshalAsJSON(req, body); err != nil {
			return err
		}
	}
	resp, err := cr.manager.Pipeline().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !runtime.HasStatusCode(resp, http.StatusOK) {
		return runtime.NewResponseError(resp)
	}
	return runtime.UnmarshalAsJSON(resp, into)
}
