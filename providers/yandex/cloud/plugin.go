package cloud

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/serve"
)

// Plugin is the provider, to be served.
func Plugin() serve.Plugin {
	var o Options
	return serve.Plugin{
		Name: "yandex",
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Endpoint, "yandex-endpoint", "", "address of the API that names the endpoints of all services: api.yandexcloud.kz:443 for Kazakhstan (default api.cloud.yandex.net:443). An http URL is the address of all services, without TLS: of a simulator, or of a proxy")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			o.Clock = e.Clock
			return New(o), nil
		},
		Limits: limits,
	}
}

// limits leave room for other clients of the cloud. Yandex Cloud limits the operations in progress in a
// folder, and documents no rate of calls; if it throttles, the limit adapts.
var limits = decorate.Limits{PerSecond: 20, Burst: 60}
