// Prices of European options.
float normal_distribution(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    float series = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * exp(-0.5f * x * x) * series;
    return x < 0.0f ? tail : 1.0f - tail;
}

kernel void black_scholes(global const float *prices, global const float *strikes, global const float *years,
                          global float *calls, global float *puts, float rate, float volatility)
{
    int i = get_global_id(0);
    float s = prices[i];
    float k = strikes[i];
    float t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float discounted = k * exp(-rate * t);
    float n1 = normal_distribution(d1);
    float n2 = normal_distribution(d2);
    calls[i] = s * n1 - discounted * n2;
    puts[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
