// What the network does between its matrix products, on a GPU. The program compiles this file when it
// begins to learn, with the network's sizes as constants: WIDTH (d), HIDDEN, HEADS, LAST_PLACE (the last
// row of the positions), CHUNKS (the parts that sums over rows are made in), GELU (or ReLU) and BF16
// (or f32, as what lies in memory; sums are always f32).
//
// Rows lie as they do on CPU, one sequence after the other without padding, and the same numbers are
// left out for the same seed: both learn the same, but for rounding. Sums are made in a fixed order.
// R = all rows, B = sequences, A = rows that ask (see network.rs).

typedef unsigned int u32;

#define LANES 32
#define WARPS 4
#define SIZE (WIDTH / HEADS)
#define PITCH (SIZE + 1)
#define EACH ((WIDTH + LANES - 1) / LANES)
#define LANE (threadIdx.x % LANES)
#define WARP (threadIdx.x / LANES)
#define ROW (blockIdx.x * (blockDim.x / LANES) + WARP)
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define FOR_COLUMNS                                                        \
    _Pragma("unroll") for (int i = 0, c = LANE; i < EACH; i++, c += LANES) \
        if (WIDTH % LANES == 0 || c < WIDTH)

#if BF16
typedef unsigned short number;

__device__ __forceinline__ float load(number x) {
    return __uint_as_float((u32)x << 16);
}

__device__ __forceinline__ number store(float x) {
    u32 bits = __float_as_uint(x);
    return x != x ? 0x7fc0 : (number)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#else
typedef float number;

__device__ __forceinline__ float load(number x) {
    return x;
}

__device__ __forceinline__ number store(float x) {
    return x;
}
#endif

// As Mask in dropout.rs.
struct Mask {
    u32 key, below;
    float scale;

    __device__ __forceinline__ float factor(u32 index) const {
        u32 x = index ^ key;
        x = (x ^ (x >> 16)) * 0x7feb352du;
        x = (x ^ (x >> 15)) * 0x846ca68bu;
        x ^= x >> 16;
        return x < below ? 0.0f : scale;
    }
};

__device__ __forceinline__ float warp_sum(float x) {
    for (int far = LANES / 2; far > 0; far /= 2) x += __shfl_xor_sync(0xffffffffu, x, far);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
    for (int far = LANES / 2; far > 0; far /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, far));
    return x;
}

__device__ __forceinline__ float activated(float x) {
#if GELU
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
#else
    return fmaxf(x, 0.0f);
#endif
}

__device__ __forceinline__ float activated_slope(float x) {
#if GELU
    return 0.5f * (1.0f + erff(x * 0.70710678f)) + x * 0.3989423f * expf(-0.5f * x * x);
#else
    return x > 0.0f ? 1.0f : 0.0f;
#endif
}

// One row at mean 0 and variance 1, and that scaled and shifted.
__device__ __forceinline__ void norm_row(
    const float *v, u32 row, number *normed, float *scales, number *y, const float *weight,
    const float *bias
) {
    float sum = 0.0f, squares = 0.0f;
    FOR_COLUMNS sum += v[i];
    float mean = warp_sum(sum) / WIDTH;
    FOR_COLUMNS squares += (v[i] - mean) * (v[i] - mean);
    float scale = 1.0f / sqrtf(warp_sum(squares) / WIDTH + 1e-5f);
    size_t at = (size_t)row * WIDTH;
    FOR_COLUMNS {
        float x = (v[i] - mean) * scale;
        normed[at + c] = store(x);
        y[at + c] = store(x * weight[c] + bias[c]);
    }
    if (LANE == 0) scales[row] = scale;
}

extern "C" __global__ void norm_rows(
    const number *x, u32 rows, number *normed, float *scales, number *y, const float *weight,
    const float *bias
) {
    u32 row = ROW;
    if (row >= rows) return;
    float v[EACH];
    FOR_COLUMNS v[i] = load(x[(size_t)row * WIDTH + c]);
    norm_row(v, row, normed, scales, y, weight, bias);
}

// sum = residual + dropped(product + bias), and its norm where one is wanted. `firsts` tells which row of
// the residual belongs to which row, where it is not the same one.
extern "C" __global__ void join(
    const number *product, const float *bias, const number *residual, const u32 *firsts, u32 rows,
    u32 key, u32 below, float kept, number *sum, number *normed, float *scales, number *y,
    const float *weight, const float *shift
) {
    u32 row = ROW;
    if (row >= rows) return;
    Mask mask = {key, below, kept};
    size_t at = (size_t)row * WIDTH, from = (size_t)(firsts ? firsts[row] : row) * WIDTH;
    float v[EACH];
    FOR_COLUMNS {
        float x = (load(product[at + c]) + bias[c]) * mask.factor(row * WIDTH + c);
        v[i] = load(residual[from + c]) + x;
        if (sum) sum[at + c] = store(v[i]);
    }
    if (normed) norm_row(v, row, normed, scales, y, weight, shift);
}

// From the gradient of a norm's result to that of its rows, in place.
extern "C" __global__ void norm_back(
    number *gradient, const number *normed, const float *scales, const float *weight, u32 rows
) {
    u32 row = ROW;
    if (row >= rows) return;
    size_t at = (size_t)row * WIDTH;
    float g[EACH], x[EACH], sum = 0.0f, along = 0.0f;
    FOR_COLUMNS {
        g[i] = load(gradient[at + c]) * weight[c];
        x[i] = load(normed[at + c]);
        sum += g[i];
        along += g[i] * x[i];
    }
    sum = warp_sum(sum) / WIDTH;
    along = warp_sum(along) / WIDTH;
    float scale = scales[row];
    FOR_COLUMNS gradient[at + c] = store(scale * (g[i] - sum - x[i] * along));
}

// x = dropped(activation(x + bias)); with GELU the sums themselves go to `before`.
extern "C" __global__ void activate(
    number *x, const float *bias, number *before, u32 count, u32 key, u32 below, float kept
) {
    u32 at = INDEX;
    if (at >= count) return;
    Mask mask = {key, below, kept};
    float sum = load(x[at]) + bias[at % HIDDEN];
    if (before) before[at] = store(sum);
    x[at] = store(activated(sum) * mask.factor(at));
}

// From the gradient of an activation's result to that of its sums, in place.
extern "C" __global__ void activate_back(
    number *gradient, const number *result, const number *before, u32 count, u32 key, u32 below,
    float kept
) {
    u32 at = INDEX;
    if (at >= count) return;
    Mask mask = {key, below, kept};
    // Without the sums (ReLU): what was left out and what was negative are both 0 in the result.
    float slope = before ? activated_slope(load(before[at])) * mask.factor(at)
                         : (load(result[at]) > 0.0f ? kept : 0.0f);
    gradient[at] = store(load(gradient[at]) * slope);
}

extern "C" __global__ void drop_out(
    const number *x, number *out, u32 count, u32 key, u32 below, float kept
) {
    u32 at = INDEX;
    if (at >= count) return;
    Mask mask = {key, below, kept};
    out[at] = store(load(x[at]) * mask.factor(at));
}

extern "C" __global__ void converted(const float *x, number *out, u32 count) {
    u32 at = INDEX;
    if (at < count) out[at] = store(x[at]);
}

extern "C" __global__ void add(number *x, const number *y, u32 count) {
    u32 at = INDEX;
    if (at < count) x[at] = store(load(x[at]) + load(y[at]));
}

// The first row of every sequence.
extern "C" __global__ void gather(const number *x, const u32 *starts, u32 sequences, number *out) {
    u32 at = INDEX;
    if (at >= sequences * WIDTH) return;
    out[at] = x[(size_t)starts[at / WIDTH] * WIDTH + at % WIDTH];
}

// Adds to the first row of every sequence.
extern "C" __global__ void scatter_add(const number *x, const u32 *starts, u32 sequences, number *out) {
    u32 at = INDEX;
    if (at >= sequences * WIDTH) return;
    size_t to = (size_t)starts[at / WIDTH] * WIDTH + at % WIDTH;
    out[to] = store(load(out[to]) + load(x[at]));
}

// The tokens: steps projected, with their places, each sequence behind a CLS token.
extern "C" __global__ void embed(
    const number *projected, const float *bias, const float *cls, const float *position,
    const u32 *starts, const u32 *sequence_of, u32 rows, u32 key, u32 below, float kept, number *x
) {
    u32 row = ROW;
    if (row >= rows) return;
    Mask mask = {key, below, kept};
    u32 sequence = sequence_of[row], place = row - starts[sequence];
    const float *at_place = position + (size_t)min(place, (u32)LAST_PLACE) * WIDTH;
    // So many CLS tokens lie before this row, its own included.
    const number *step = projected + (size_t)(row - sequence - 1) * WIDTH;
    FOR_COLUMNS {
        float token = place == 0 ? cls[c] : load(step[c]) + bias[c];
        x[(size_t)row * WIDTH + c] = store((token + at_place[c]) * mask.factor(row * WIDTH + c));
    }
}

// The gradient of the tokens, in place, and of the projected steps.
extern "C" __global__ void embed_back(
    number *x, const u32 *starts, const u32 *sequence_of, u32 rows, u32 key, u32 below, float kept,
    number *of_projected
) {
    u32 row = ROW;
    if (row >= rows) return;
    Mask mask = {key, below, kept};
    u32 sequence = sequence_of[row], place = row - starts[sequence];
    number *step = of_projected + (size_t)(row - sequence - 1) * WIDTH;
    FOR_COLUMNS {
        size_t at = (size_t)row * WIDTH + c;
        number gradient = store(load(x[at]) * mask.factor(row * WIDTH + c));
        x[at] = gradient;
        if (place > 0) step[c] = gradient;
    }
}

// Sums over rows are made in CHUNKS parts, [CHUNKS, slots] in `parts`; `collect` adds these up.
struct Part {
    u32 from, to;

    __device__ __forceinline__ Part(u32 chunk, u32 count) {
        u32 each = (count + CHUNKS - 1) / CHUNKS;
        from = min(chunk * each, count);
        to = min(from + each, count);
    }
};

// Every column's sum of x, and of x·other where that is given.
extern "C" __global__ void column_sums(
    const number *x, const number *other, u32 rows, u32 width, float *parts, u32 slots, u32 slot,
    u32 slot_of_other
) {
    u32 c = INDEX;
    if (c >= width) return;
    Part part(blockIdx.y, rows);
    float sum = 0.0f, both = 0.0f;
    if (other) {
#pragma unroll 4
        for (u32 row = part.from; row < part.to; row++) {
            size_t at = (size_t)row * width + c;
            float value = load(x[at]);
            sum += value;
            both += value * load(other[at]);
        }
        parts[(size_t)blockIdx.y * slots + slot_of_other + c] = both;
    } else {
#pragma unroll 8
        for (u32 row = part.from; row < part.to; row++) sum += load(x[(size_t)row * width + c]);
    }
    parts[(size_t)blockIdx.y * slots + slot + c] = sum;
}

// For every place the sum of its rows; the CLS tokens' too.
extern "C" __global__ void place_sums(
    const number *x, const u32 *starts, u32 sequences, float *parts, u32 slots, u32 slot_of_places,
    u32 slot_of_cls
) {
    u32 c = INDEX, place = blockIdx.y;
    if (c >= WIDTH) return;
    Part part(blockIdx.z, sequences);
    float sum = 0.0f;
    for (u32 sequence = part.from; sequence < part.to; sequence++) {
        u32 start = starts[sequence], length = starts[sequence + 1] - start;
        u32 end = place == LAST_PLACE ? length : min(length, place + 1);
        for (u32 at = place; at < end; at++) sum += load(x[(size_t)(start + at) * WIDTH + c]);
    }
    parts[(size_t)blockIdx.z * slots + slot_of_places + place * WIDTH + c] = sum;
    if (place == 0) parts[(size_t)blockIdx.z * slots + slot_of_cls + c] = sum;
}

extern "C" __global__ void collect(const float *parts, u32 slots, const u32 *places, float *gradient) {
    u32 slot = INDEX;
    if (slot >= slots) return;
    float sum = 0.0f;
#pragma unroll 8
    for (int chunk = 0; chunk < CHUNKS; chunk++) sum += parts[(size_t)chunk * slots + slot];
    gradient[places[slot]] = sum;
}

// Attention: one block for each sequence and head, its keys and values in shared memory. The biases
// [3·d] are added here; a row of queries is `q_pitch` numbers long, one of keys and values `kv_pitch`.
extern __shared__ float room[];

__device__ __forceinline__ void take(
    float *into, const number *from, u32 rows, u32 pitch, const float *bias
) {
    for (u32 at = threadIdx.x; at < rows * SIZE; at += blockDim.x) {
        u32 row = at / SIZE, c = at % SIZE;
        into[row * PITCH + c] = load(from[(size_t)row * pitch + c]) + (bias ? bias[c] : 0.0f);
    }
}

__device__ __forceinline__ float dot(const float *a, const float *b) {
    float sum = 0.0f;
    for (int c = 0; c < SIZE; c++) sum += a[c] * b[c];
    return sum;
}

// A row of `shares` [A, HEADS, longest] is softmax(q kᵀ / √SIZE).
extern "C" __global__ void attend(
    const number *queries, u32 q_pitch, const number *keys_values, u32 kv_pitch, const float *bias,
    const u32 *starts, u32 first_asks, u32 longest, float *shares, number *out
) {
    u32 sequence = blockIdx.x, head = blockIdx.y * SIZE, start = starts[sequence];
    u32 length = starts[sequence + 1] - start, asking = first_asks ? 1 : length;
    u32 asks = first_asks ? sequence : start;
    float *q = room, *k = q + longest * PITCH, *v = k + longest * PITCH;
    float *scores = v + longest * PITCH + WARP * longest;
    const number *rows = keys_values + (size_t)start * kv_pitch + head;
    take(q, queries + (size_t)asks * q_pitch + head, asking, q_pitch, bias + head);
    take(k, rows, length, kv_pitch, bias + WIDTH + head);
    take(v, rows + WIDTH, length, kv_pitch, bias + 2 * WIDTH + head);
    __syncthreads();
    for (u32 i = WARP; i < asking; i += WARPS) {
        float most = -1e30f, total = 0.0f;
        for (u32 j = LANE; j < length; j += LANES) {
            scores[j] = dot(q + i * PITCH, k + j * PITCH) * rsqrtf((float)SIZE);
            most = fmaxf(most, scores[j]);
        }
        most = warp_max(most);
        for (u32 j = LANE; j < length; j += LANES) {
            scores[j] = expf(scores[j] - most);
            total += scores[j];
        }
        total = 1.0f / warp_sum(total);
        float *share = shares + ((size_t)(asks + i) * HEADS + blockIdx.y) * longest;
        for (u32 j = LANE; j < length; j += LANES) share[j] = scores[j] *= total;
        __syncwarp();
        for (u32 c = LANE; c < SIZE; c += LANES) {
            float sum = 0.0f;
            for (u32 j = 0; j < length; j++) sum += scores[j] * v[j * PITCH + c];
            out[(size_t)(asks + i) * WIDTH + head + c] = store(sum);
        }
        __syncwarp();
    }
}

// From the gradient of what was attended [A, d] to those of queries and of keys and values.
extern "C" __global__ void attend_back(
    const number *queries, u32 q_pitch, const number *keys_values, u32 kv_pitch, const float *bias,
    const u32 *starts, u32 first_asks, u32 longest, const float *shares, const number *gradient,
    number *of_queries, number *of_keys_values
) {
    u32 sequence = blockIdx.x, head = blockIdx.y * SIZE, start = starts[sequence];
    u32 length = starts[sequence + 1] - start, asking = first_asks ? 1 : length;
    u32 asks = first_asks ? sequence : start;
    u32 room_of_rows = longest * PITCH;
    float *q = room, *k = q + room_of_rows, *v = k + room_of_rows, *g = v + room_of_rows;
    float *p = g + room_of_rows, *ds = p + longest * longest;
    const number *rows = keys_values + (size_t)start * kv_pitch + head;
    take(q, queries + (size_t)asks * q_pitch + head, asking, q_pitch, bias + head);
    take(k, rows, length, kv_pitch, bias + WIDTH + head);
    take(v, rows + WIDTH, length, kv_pitch, bias + 2 * WIDTH + head);
    take(g, gradient + (size_t)asks * WIDTH + head, asking, WIDTH, 0);
    __syncthreads();
    for (u32 i = WARP; i < asking; i += WARPS) {
        const float *share = shares + ((size_t)(asks + i) * HEADS + blockIdx.y) * longest;
        float *p_row = p + i * longest, *ds_row = ds + i * longest, sum = 0.0f;
        for (u32 j = LANE; j < length; j += LANES) {
            p_row[j] = share[j];
            ds_row[j] = dot(g + i * PITCH, v + j * PITCH);
            sum += p_row[j] * ds_row[j];
        }
        sum = warp_sum(sum);
        for (u32 j = LANE; j < length; j += LANES)
            ds_row[j] = p_row[j] * (ds_row[j] - sum) * rsqrtf((float)SIZE);
        __syncwarp();
        for (u32 c = LANE; c < SIZE; c += LANES) {
            float of_query = 0.0f;
            for (u32 j = 0; j < length; j++) of_query += ds_row[j] * k[j * PITCH + c];
            of_queries[(size_t)(asks + i) * q_pitch + head + c] = store(of_query);
        }
    }
    __syncthreads();
    for (u32 j = WARP; j < length; j += WARPS) {
        number *of_key = of_keys_values + (size_t)(start + j) * kv_pitch + head;
        for (u32 c = LANE; c < SIZE; c += LANES) {
            float key = 0.0f, value = 0.0f;
            for (u32 i = 0; i < asking; i++) {
                key += ds[i * longest + j] * q[i * PITCH + c];
                value += p[i * longest + j] * g[i * PITCH + c];
            }
            of_key[c] = store(key);
            of_key[WIDTH + c] = store(value);
        }
    }
}

// The end of the head: its hidden part, the loss of each sequence, and the gradient of the hidden sums.
extern "C" __global__ void judge(
    const number *product, const float *bias, const float *last_weight, const float *last_bias,
    const u32 *right, float weight_of_right, u32 sequences, number *hidden, number *of_hidden,
    float *slopes, float *losses
) {
    u32 row = ROW;
    if (row >= sequences) return;
    size_t at = (size_t)row * WIDTH;
    float v[EACH], sum = 0.0f;
    FOR_COLUMNS {
        v[i] = load(product[at + c]) + bias[c];
        float x = activated(v[i]);
        hidden[at + c] = store(x);
        sum += x * last_weight[c];
    }
    float logit = warp_sum(sum) + last_bias[0], goal = right[row] ? 1.0f : 0.0f;
    float weight = right[row] ? weight_of_right : 1.0f;
    float slope = (1.0f / (1.0f + expf(-logit)) - goal) * weight / sequences;
    FOR_COLUMNS of_hidden[at + c] = store(slope * last_weight[c] * activated_slope(v[i]));
    if (LANE == 0) {
        slopes[row] = slope;
        losses[row] = (fmaxf(logit, 0.0f) - goal * logit + log1pf(expf(-fabsf(logit)))) * weight;
    }
}

// The gradient of the head's last weight [d], and of its bias behind it.
extern "C" __global__ void judge_sums(
    const number *hidden, const float *slopes, u32 sequences, float *parts, u32 slots, u32 slot
) {
    u32 c = INDEX;
    if (c > WIDTH) return;
    Part part(blockIdx.y, sequences);
    float sum = 0.0f;
    for (u32 row = part.from; row < part.to; row++)
        sum += slopes[row] * (c < WIDTH ? load(hidden[(size_t)row * WIDTH + c]) : 1.0f);
    parts[(size_t)blockIdx.y * slots + slot + c] = sum;
}

// The sum of a block's numbers, in all of its threads.
__device__ __forceinline__ float block_sum(float x) {
    __shared__ float sums[LANES];
    x = warp_sum(x);
    if (LANE == 0) sums[WARP] = x;
    __syncthreads();
    return warp_sum(LANE < blockDim.x / LANES ? sums[LANE] : 0.0f);
}

// The squares of the gradient, summed in as many parts as there are blocks.
extern "C" __global__ void squares(const float *gradient, u32 count, float *sums) {
    float sum = 0.0f;
    for (u32 at = INDEX; at < count; at += gridDim.x * blockDim.x) sum += gradient[at] * gradient[at];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One step of Adam over all weights. `sums` (as many as a block has threads) tell how long the gradient
// is; one longer than `longest` is shortened to that, where it is above 0.
extern "C" __global__ void adam(
    float *weights, number *copy, float *first, float *second, const float *gradient, u32 count,
    const float *sums, float longest, float rate, float correction, float kept, float beta1,
    float beta2, float eps
) {
    float shortened = 1.0f;
    if (longest > 0.0f) {
        float length = sqrtf(block_sum(sums[threadIdx.x]));
        if (length > longest) shortened = longest / length;
    }
    for (u32 at = INDEX; at < count; at += gridDim.x * blockDim.x) {
        float g = gradient[at] * shortened;
        float m = first[at] + (1.0f - beta1) * (g - first[at]);
        float v = second[at] + (1.0f - beta2) * (g * g - second[at]);
        float w = weights[at] * kept - rate * m / (sqrtf(v) * correction + eps);
        first[at] = m;
        second[at] = v;
        weights[at] = w;
        if (copy) copy[at] = store(w);
    }
}
